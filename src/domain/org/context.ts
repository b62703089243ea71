import type { Call } from "../../kernel/context.ts"

/** The organisation of a v1 call: the one it names, else the caller's own. */
export const contextOrg = ({ orgId, caller }: Pick<Call, "orgId" | "caller">): string =>
  orgId || (caller.kind === "user" ? caller.orgId : "")
