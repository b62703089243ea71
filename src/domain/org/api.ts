import { admin, management } from "./v1.ts"
import { v2 } from "./v2.ts"
import { v2domain } from "./v2-domain.ts"
import { v2metadata } from "./v2-metadata.ts"

export { listOrgs } from "./v1.ts"
export { parseOrgOidc, toOrgOidc } from "./v2-oidc.ts"

/** The API operations of this module. */
export const shares = [management, admin, v2, v2domain, v2metadata] as const
