// Package procstat reads what another process has used, from /proc (proc_pid_stat(5), proc_pid_status(5)).
package procstat

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// tick is the length of one unit of utime and stime: 1/100 s on every Linux that Go runs on.
const tickMicros = 10_000

// CPUMicros is user and system time together; 0 for a process that is not there.
func CPUMicros(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// the command name, in brackets, may hold spaces
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+2:]))
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) * tickMicros
}

// ResidentKB is the resident set; 0 for a process that is not there.
func ResidentKB(pid int) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.SplitSeq(string(text), "\n") {
		if strings.HasPrefix(line, "VmRSS:") {
			kilobytes, _ := strconv.ParseFloat(strings.Fields(line)[1], 64)
			return kilobytes
		}
	}
	return 0
}
