import type { FuzzTarget } from "./engine/target.ts"
import * as api from "./target/api.ts"
import * as archive from "./target/archive.ts"
import * as file from "./target/file.ts"
import * as form from "./target/form.ts"
import * as header from "./target/header.ts"
import * as jwt from "./target/jwt.ts"
import * as people from "./target/people.ts"
import * as saml from "./target/saml.ts"
import * as text from "./target/text.ts"
import * as webauthn from "./target/webauthn.ts"

const files = [api, archive, file, form, header, jwt, people, saml, text, webauthn]

/** Every fuzzed parser of external input; a new export of these files adds one. */
export const targets: readonly FuzzTarget[] = files
  .flatMap((each) => Object.values(each))
  .toSorted((one, other) => (one.name < other.name ? -1 : 1))
