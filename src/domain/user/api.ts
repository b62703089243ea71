import { auth, management } from "./binding/v1.ts"
import { managementAvatar } from "./binding/v1-avatar.ts"
import { managementCredentials } from "./binding/v1-credential.ts"
import { selfFactors } from "./binding/v1-factor.ts"
import { managementGlobal } from "./binding/v1-global.ts"
import { mine } from "./binding/v1-mine.ts"
import { selfPassword } from "./binding/v1-password.ts"
import { self } from "./binding/v1-self.ts"
import { v2 } from "./binding/v2.ts"
import { v2contact } from "./binding/v2-contact.ts"
import { v2email } from "./binding/v2-email.ts"
import { v2factor } from "./binding/v2-factor.ts"
import { v2failure } from "./binding/v2-failure.ts"
import { v2invite } from "./binding/v2-invite.ts"
import { v2key } from "./binding/v2-key.ts"
import { v2metadata } from "./binding/v2-metadata.ts"
import { v2password } from "./binding/v2-password.ts"
import { v2reset } from "./binding/v2-reset.ts"
import { v2search } from "./binding/v2-search.ts"
import { v2token } from "./binding/v2-token.ts"

export { codesOf, newHuman } from "./binding/v2.ts"

/** The operations that this module answers. */
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
  v2failure,
  v2reset,
  v2factor,
  selfFactors,
  managementAvatar,
  mine,
  selfPassword,
  v2email,
  v2password,
] as const
