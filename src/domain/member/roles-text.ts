/** Roles as tables have them, "|A|B|", so that one of them can be found. */
export const rolesText = (roles: readonly string[]): string => `|${roles.join("|")}|`

export const rolesIn = (written: string): readonly string[] => written.split("|").filter(Boolean)
