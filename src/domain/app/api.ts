import { managementCredentials } from "./binding/v1.ts"
import { settings } from "./binding/v1-settings.ts"
import { management, projectV2, v2 } from "./binding/v2.ts"
import { v2credential } from "./binding/v2-credential.ts"
import { v2logout } from "./binding/v2-logout.ts"
import { v2search } from "./binding/v2-search.ts"

export { accessInputOf, toAccess } from "./binding/v2-access.ts"
export { newOidc, toOidc } from "./binding/v2-oidc.ts"

/** The API services that this module implements. */
export const shares = [
  v2,
  v2search,
  v2credential,
  v2logout,
  projectV2,
  management,
  managementCredentials,
  settings,
] as const
export { toAttributes } from "./binding/v2-saml.ts"
