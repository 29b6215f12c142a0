"""An addon of mitmproxy for the bench: every origin is on loopback, at the port that the client asked for."""


def server_connect(data):
    _, port = data.server.address
    data.server.address = ("127.0.0.1", port)
