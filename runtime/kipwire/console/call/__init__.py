"""kipwire call: send any request of any version, and print the response."""
