import type { Format } from "../person.ts"
import { auth0 } from "./auth0.ts"
import { authelia } from "./authelia.ts"
import { authentik } from "./authentik.ts"
import { csv } from "./csv.ts"
import { keycloak } from "./keycloak.ts"
import { okta } from "./okta.ts"
import { own } from "./own.ts"

/** Every format that people are read from, by the word that the flag takes. */
export const formats: Readonly<Record<string, Format>> = {
  keycloak,
  auth0,
  authentik,
  authelia,
  okta,
  csv,
  json: own,
}
