"""Message sets as the draft of KIP-98 has them."""
