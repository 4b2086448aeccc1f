package cmd

import (
	"fmt"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
)

// contradictions are the options of which only one can be meant, of --restart
// when it is always. The one from the higher source goes before the other.
var contradictions = [][2]string{
	{"nonblock", "wait"}, {"verbose", "quiet"}, {"rejoin", "nonblock"}, {"rejoin", "wait"}, {"once-per", "rejoin"}, {"once-per", "restart"},
	{"health-cmd", "health-http"}, {"health-cmd", "health-tcp"}, {"health-http", "health-tcp"},
}

// nameLock calls the lock like the job if nobody names it.
func (s *settings) nameLock(name string, job *section) error {
	o := s.option("lock")
	if name == "" || o.rank > fromDefault {
		return nil
	}
	if err := locks.CheckName(name); err != nil {
		return s.config.at(job.line, "job %s: its name cannot be that of its lock: %v", output.Quote(name), err)
	}
	*o = setting{flag: o.flag, value: name, rank: fromJob, source: "the job's name"}
	return nil
}

// contradict drops of two options that contradict each other the one from the
// lower source. Two from one place in the file are an error here; two flags, or
// two variables, are one later.
func (s *settings) contradict() error {
	for _, pair := range contradictions {
		a, b := s.option(pair[0]), s.option(pair[1])
		switch {
		case !a.on() || !b.on():
		case a.rank > b.rank:
			b.reset()
		case b.rank > a.rank:
			a.reset()
		case a.rank == fromTop || a.rank == fromJob:
			return s.config.at(max(a.line, b.line), "%s and %s contradict each other", pair[0], pair[1])
		}
	}
	return nil
}

// on reports whether somebody wants the option: a switch may be off.
func (o *setting) on() bool {
	switch {
	case o.flag.Names()[0] == "restart":
		return o.value == "always"
	case takesValue(o.flag):
		return o.rank > fromDefault
	}
	if n, err := strconv.Atoi(o.value); err == nil {
		return n > 0
	}
	on, _ := strconv.ParseBool(o.value)
	return on
}

func (o *setting) reset() {
	*o = setting{flag: o.flag, value: o.flag.(cli.DocGenerationFlag).GetDefaultText(), source: "default"}
}

// findCommand settles what to run: what the command line says, or a variable, or
// the job.
func (s *settings) findCommand(args []string, job *section) error {
	s.command, s.source = args, "command line"
	line := s.option(commandKey)
	if len(args) > 0 && line.rank < fromFlag {
		line.reset()
	}
	if len(args) > 0 || line.rank > fromDefault || job.command == nil {
		return nil
	}
	s.command, s.source = nil, fmt.Sprintf("%s:%d", s.config.file, job.command.line)
	for _, word := range job.command.words {
		word, err := expand(word)
		if err != nil {
			return s.config.at(job.command.line, "%s: %v", commandKey, err)
		}
		s.command = append(s.command, word)
	}
	return nil
}

// settle drops what a variable says where the command line says otherwise: an
// option goes before a variable that contradicts it, too, and an empty variable
// is none.
func (p *program) settle(o *options, command bool) {
	if o.nonblock && p.isGiven("nonblock") && !p.isGiven("wait") {
		o.wait = seconds{}
	}
	if p.isGiven("wait") && !p.isGiven("nonblock") {
		o.nonblock = false
	}
	p.settleRejoin(o)
	p.settleOnce(o)
	p.settleHealth(&o.health)
	if command && !p.isGiven("command") {
		o.shellCommand = ""
	}
	if o.verbose > 0 && p.isGiven("verbose") && !p.isGiven("quiet") {
		o.quiet = false
	}
	if o.backend == "" && !p.isGiven("backend") {
		o.backend = "file"
	}
}

// settleRejoin is settle for what contradicts --rejoin.
func (p *program) settleRejoin(o *options) {
	if p.isGiven("rejoin") && o.rejoin {
		if !p.isGiven("nonblock") {
			o.nonblock = false
		}
		if !p.isGiven("wait") {
			o.wait = seconds{}
		}
		if !p.isGiven("once-per") {
			o.oncePer = ""
		}
	} else if o.nonblock && p.isGiven("nonblock") || p.isGiven("wait") || p.isGiven("once-per") {
		o.rejoin = false
	}
}

// settleOnce is settle for --once-per and --restart always.
func (p *program) settleOnce(o *options) {
	if o.oncePer == "" || o.restart.value != "always" {
		return
	}
	switch once, always := p.isGiven("once-per"), p.isGiven("restart"); {
	case once && !always:
		o.restart.value = "no"
	case always && !once:
		o.oncePer, o.oncePerAttempt = "", false
	}
}

// settleHealth is settle for the ways to check a job's health.
func (p *program) settleHealth(h *healthOptions) {
	ways := map[string]*string{"health-cmd": &h.cmd, "health-http": &h.http, "health-tcp": &h.tcp}
	for _, name := range []string{"health-interval", "health-timeout", "health-retries", "health-start-period"} {
		h.stray = h.stray || p.isGiven(name)
	}
	given := false
	for name := range ways {
		given = given || p.isGiven(name)
	}
	for name, way := range ways {
		if given && !p.isGiven(name) {
			*way = ""
		}
	}
}
