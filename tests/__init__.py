"""The tests, in folders by what they protect; `support` has what they share."""
