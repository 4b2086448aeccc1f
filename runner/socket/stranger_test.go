package socket_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/runner/socket"
)

// serveParent prints the address of a server, and asks it whenever a byte arrives.
func serveParent() {
	s, err := socket.Serve(always(answer))
	if err != nil {
		panic(err)
	}
	fmt.Println(s.Address())
	for one := make([]byte, 1); ; {
		if _, err := os.Stdin.Read(one); err != nil {
			_ = s.Close()
			os.Exit(0)
		}
		a, err := socket.Ask(s.Address(), time.Second)
		fmt.Println(plain(a) == answer, err)
	}
}

// Who does not descend from the server is told nothing, at any of its sockets, and keeps nobody
// waiting.
func TestStranger(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("nobody can tell strangers here")
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(path)
	c.Env = append(os.Environ(), serveVariable+"=1")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}()
	out := bufio.NewReader(pipe)
	line, _ := out.ReadString('\n')
	parts := strings.Split(strings.TrimSpace(line), ",")
	if len(parts) != 3 || !strings.HasPrefix(parts[1], "/") || !strings.HasPrefix(parts[2], "@") {
		t.Fatalf("the address is %q, want a path and an abstract name", line)
	}
	for _, at := range parts[1:] {
		if a, err := socket.Ask(parts[0]+","+at, limit); a != (socket.Answer{Outside: true}) || err != nil {
			t.Errorf("%s: got %+v, %v; want to be a stranger", at, a, err)
		}
		silent := dial(t, at)
		if told, err := io.ReadAll(silent); !strings.Contains(string(told), `"outside":true`) || strings.Contains(string(told), answer.Lock) || err != nil {
			t.Errorf("%s: got %q, %v; want only to be a stranger", at, told, err)
		}
		_ = silent.Close()
		for range 100 {
			defer dial(t, at).Close()
		}
	}
	_, _ = in.Write([]byte{0})
	if line, _ := out.ReadString('\n'); line != "true <nil>\n" {
		t.Errorf("a process of the job: got %q", line)
	}
}
