"""Why a prefix broke: one small module a family of causes."""
