# SPDX-License-Identifier: MIT
# package: golang-go gcc
# needs: go gcc
# records: cgo
cat >work.go <<'END'
package main
import ("crypto/sha256"; "fmt"; "os"; "os/exec"; "sync")
func main() {
    var wait sync.WaitGroup
    out := make([]string, 16)
    for i := range out {
        wait.Add(1)
        go func(i int) { defer wait.Done(); out[i] = fmt.Sprintf("%x", sha256.Sum256(make([]byte, 100000*i))) }(i)
    }
    wait.Wait()
    fmt.Println(out)
    text, err := exec.Command("sh", "-c", "echo child; exit 3").Output()
    fmt.Println(string(text), err)
    defer func() { fmt.Println("recovered", recover()); os.Exit(7) }()
    var p *int
    *p = 1
}
END
mkdir cgo && cat >cgo/work.go <<'END'
package main
/*
#include <stdlib.h>
#include <string.h>
static int work(int n) { char *p = malloc(n); memset(p, 1, n); int s = p[0] + p[n - 1]; free(p); return s; }
*/
import "C"
import ("fmt"; "net"; "os/exec"; "os/signal"; "os"; "syscall"; "sync")
func main() {
    var wait sync.WaitGroup
    var lock sync.Mutex
    total := 0
    for i := 1; i < 200; i++ {
        wait.Add(1)
        go func(i int) { defer wait.Done(); v := int(C.work(C.int(i * 100))); lock.Lock(); total += v; lock.Unlock() }(i)
    }
    wait.Wait()
    _, err := net.LookupHost("localhost")
    fmt.Println(total, err)
    c := make(chan os.Signal, 1)
    signal.Notify(c, syscall.SIGUSR1)
    syscall.Kill(os.Getpid(), syscall.SIGUSR1)
    fmt.Println(<-c)
    text, _ := exec.Command("echo", "child").Output()
    fmt.Print(string(text))
    defer func() { fmt.Println("recovered", recover()) }()
    var p *int
    *p = 1
}
END
export GO111MODULE=off GOFLAGS=-p=2 GOCACHE=$PWD/cache
CGO_ENABLED=0 go build -o go work.go && CGO_ENABLED=1 go build -o cgo/cgo ./cgo/work.go
./go; echo "$?"
./cgo/cgo; echo "$?"
rm -rf cache
