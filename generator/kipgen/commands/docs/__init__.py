"""The command `kipgen docs`: pages of the messages of one's own specs, as kipwire's documentation has of Kafka's."""
