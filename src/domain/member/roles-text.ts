/** Roles as the tables store them, "|A|B|", so that SQL can search for one of them. */
export const formatRoles = (roles: readonly string[]): string => `|${roles.join("|")}|`

export const parseRoles = (text: string): readonly string[] => text.split("|").filter(Boolean)
