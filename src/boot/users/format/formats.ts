import type { UserFormat } from "../user.ts"
import { auth0 } from "./auth0.ts"
import { authelia } from "./authelia.ts"
import { authentik } from "./authentik.ts"
import { csv } from "./csv.ts"
import { keycloak } from "./keycloak.ts"
import { latchkey } from "./latchkey.ts"
import { okta } from "./okta.ts"

/** The supported formats by the value of the --format flag. */
export const formats: Readonly<Record<string, UserFormat>> = {
  keycloak,
  auth0,
  authentik,
  authelia,
  okta,
  csv,
  json: latchkey,
}
