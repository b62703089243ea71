/**
 * Which of the users whom the project admits can use an application: all of them, those who are
 * assigned to it, themselves or by a group, or those with a role of the project.
 */
export type AppAccessRule = "everyone" | "assigned" | "role"

/** Who can use an application. */
export type AppAccess = {
  readonly rule: AppAccessRule
}

/** Applies where nothing is stored. */
const usual: AppAccess = { rule: "everyone" }

export const isUsual = ({ rule }: AppAccess): boolean => rule === usual.rule

/** Who can use an application now. */
export const accessOf = (state: { readonly access?: AppAccess } | { readonly status: string }) =>
  ("access" in state ? state.access : undefined) ?? usual
