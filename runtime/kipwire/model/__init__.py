"""The ground floor: structs and their fields, types, enums, errors."""
