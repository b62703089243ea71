import { auth, management } from "./v1.ts"
import { managementCredentials } from "./v1credential.ts"
import { managementGlobal } from "./v1global.ts"
import { self } from "./v1self.ts"
import { v2 } from "./v2.ts"
import { v2contact } from "./v2contact.ts"
import { v2invite } from "./v2invite.ts"
import { v2key } from "./v2key.ts"
import { v2metadata } from "./v2metadata.ts"
import { v2search } from "./v2search.ts"
import { v2token } from "./v2token.ts"

export { callerOf } from "./v1.ts"
export { codesOf, newHuman } from "./v2.ts"

/** The operations that this room answers. */
export const shares = [
  v2,
  v2search,
  v2key,
  management,
  auth,
  v2token,
  v2metadata,
  managementCredentials,
  v2contact,
  self,
  managementGlobal,
  v2invite,
] as const
