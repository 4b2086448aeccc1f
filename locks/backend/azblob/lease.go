package azblob

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"

	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// A lock is held by the service's own lease on its blob, and the state is written under
// that lease. Each request also has the condition that the blob's ETag is the one that we
// have seen. Leases do not change it, and each term does, because it begins and ends with a
// change of the metadata. So a request that arrives late has no effect after another term
// has begun:
//
//   - An acquire is refused, and so is a change of metadata, if the ETag has changed. While it
//     has not, only other programs can have had leases.
//   - A renewal of a lease that has run out is accepted if nobody has taken the blob since.
//     Then nobody leads, and the next one waits for as long again. It counts for nothing here:
//     the engine counts from the sending, and sends none after the end.
//   - A release, or a break, that arrives late meets another lease id, or another ETag.
//
// We propose the id of a lease. Each attempt to acquire has its own, from the nonce of the
// attempt, so whoever can read the state can renew and release the lease: that needs the
// same permission as writing the state.

// leaseID returns the id of the lease that belongs to a nonce.
func leaseID(nonce string) string {
	h := sha256.Sum256([]byte("leaderrun " + nonce))
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[0:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

// leaseOf returns the id of the lease under which a cell can be changed, or "".
func leaseOf(c caslease.Cell) string {
	if !c.Leased {
		return ""
	}
	return leaseID(caslease.LeaseOf(c.State).Nonce)
}

// swapLease changes the cell of a lease, which is in blob b, and takes, renews or gives up
// the service's lease as the next state says.
func (s *store) swapLease(ctx context.Context, k caslease.Key, b *blobView, at caslease.Cell, next caslease.Value) (caslease.Cell, error) {
	id, term := leaseOf(at), caslease.LeaseOf(next.State)
	var err error
	switch {
	case term.Held && next.Silent:
		return s.renew(ctx, k, b, id, next)
	case term.Held:
		id, err = leaseID(term.Nonce), s.acquire(ctx, k, b, id, term)
	case term.Broken:
		id, err = "", s.breakLease(ctx, k, b)
	}
	if err != nil {
		return caslease.Cell{}, err
	}
	free := id != "" && term.Nonce != "" && !term.Held
	after, err := s.write(ctx, k, b, next, id)
	if err == nil && free {
		after.leased = false
		err = s.release(ctx, k, id)
	}
	switch {
	case err == nil:
		return after.cell(k.Part), nil
	case term.Held && s.Fault(err).Kind != causes.Unknown:
		if s.release(ctx, k, id) != nil {
			s.doubt(id, b.etag)
		}
	case term.Held || free:
		s.doubt(id, b.etag)
	}
	return caslease.Cell{}, err
}

func (s *store) lease(k caslease.Key, id string) *lease.BlobClient {
	c, err := lease.NewBlobClient(s.blob(k), &lease.BlobClientOptions{LeaseID: &id})
	if err != nil {
		panic("azblob: an id was given: " + err.Error())
	}
	return c
}

func unchanged(etag azcore.ETag) *lease.ModifiedAccessConditions {
	return &lease.ModifiedAccessConditions{IfMatch: &etag}
}

// acquire takes the service's lease for a term. If an earlier attempt of ours, whose answer
// was lost, has the lease, it is given up first.
func (s *store) acquire(ctx context.Context, k caslease.Key, b *blobView, earlier string, t caslease.Leased) error {
	if earlier != "" {
		if err := s.release(ctx, k, earlier); err != nil {
			return err
		}
	}
	id := leaseID(t.Nonce)
	_, err := s.lease(k, id).AcquireLease(ctx, int32(t.TTL/time.Second), &lease.BlobAcquireOptions{ModifiedAccessConditions: unchanged(b.etag)})
	if err != nil && s.Fault(err).Kind == causes.Unknown {
		s.doubt(id, b.etag)
	}
	return err
}

// renew renews the service's lease, and changes nothing else.
func (s *store) renew(ctx context.Context, k caslease.Key, b *blobView, id string, next caslease.Value) (caslease.Cell, error) {
	_, err := s.lease(k, id).RenewLease(ctx, &lease.BlobRenewOptions{ModifiedAccessConditions: unchanged(b.etag)})
	if err != nil {
		return caslease.Cell{}, err
	}
	c := b.cell(k.Part)
	c.State, c.Leased, c.Lessee = next.State, true, ""
	return c, nil
}

// release gives a lease up, if there is one with this id.
func (s *store) release(ctx context.Context, k caslease.Key, id string) error {
	_, err := s.lease(k, id).ReleaseLease(ctx, nil)
	if err != nil && s.Fault(err).Kind == causes.Ended {
		return nil
	}
	return err
}

// breakLease ends a lease, whoever has it, if there is one.
func (s *store) breakLease(ctx context.Context, k caslease.Key, b *blobView) error {
	_, err := s.lease(k, leaseID("")).BreakLease(ctx, &lease.BlobBreakOptions{BreakPeriod: to.Ptr(int32(0)), ModifiedAccessConditions: unchanged(b.etag)})
	if bloberror.HasCode(err, bloberror.LeaseNotPresentWithLeaseOperation, bloberror.LeaseAlreadyBroken) {
		return nil
	}
	return err
}

// doubt notes that a lease with this id may be granted, or may not have been given up,
// under the condition that the blob has this ETag.
func (s *store) doubt(id string, etag azcore.ETag) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doubts[id] = etag
}

// settle gives up what attempts of ours, whose answers were lost, may have taken. Such a
// request may arrive late, even when another program's lease has ended meanwhile, and
// nobody else knows the id. So this is repeated with each look until the ETag has changed.
// It is harmless at any time, because no attempt whose answer was lost becomes a term.
func (s *store) settle(ctx context.Context, k caslease.Key, b *blobView) (*blobView, error) {
	s.mu.Lock()
	doubts := maps.Clone(s.doubts)
	s.mu.Unlock()
	term := caslease.LeaseOf(b.cell(k.Part).State)
	for id, etag := range doubts {
		if term.Held && leaseID(term.Nonce) == id {
			continue // the next attempt gives it up
		}
		_, err := s.lease(k, id).ReleaseLease(ctx, nil)
		if err != nil && s.Fault(err).Kind != causes.Ended {
			return nil, err
		}
		if err == nil {
			free := *b
			free.leased, free.infinite = false, false
			b = &free
		}
		if err == nil || etag != b.etag {
			s.mu.Lock()
			delete(s.doubts, id)
			s.mu.Unlock()
		}
	}
	return b, nil
}
