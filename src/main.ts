// Picks a command and maps its outcome to an exit code. The only file that may end the process.
