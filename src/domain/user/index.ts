import type { Cx } from "../../store/index.ts"
import { orgWithDomain } from "../org/index.ts"
import { passwordCheck } from "./attempt.ts"
import { codeCount } from "./code-count.ts"
import { userMetadataView } from "./metadata-view.ts"
import { user } from "./model.ts"
import { userChain } from "./query.ts"
import { auth, management } from "./v1.ts"
import { managementCredentials } from "./v1credential.ts"
import { managementGlobal } from "./v1global.ts"
import { self } from "./v1self.ts"
import { v2 } from "./v2.ts"
import { v2contact } from "./v2contact.ts"
import { v2key } from "./v2key.ts"
import { v2metadata } from "./v2metadata.ts"
import { v2search } from "./v2search.ts"
import { v2token } from "./v2token.ts"
import { userView } from "./view.ts"

export { never } from "../../kernel/signing-key.ts"
export { type Attempts, attemptsOf } from "./attempt.ts"
export { createCode, type NewCode } from "./code.ts"
export {
  claimUserName,
  deactivateUser,
  lockUser,
  reactivateUser,
  removeUser,
  type UserChange,
  unlockUser,
  updateUser,
} from "./commands.ts"
export {
  addUser,
  createUser,
  type NewContact,
  type NewHuman,
  type NewMachine,
  type NewProfile,
  type NewUser,
} from "./create.ts"
export {
  changedPassword,
  checkPassword,
  createPassword,
  importPassword,
  mustStillHave,
  type NewPassword,
  type PasswordChange,
  type PasswordCheck,
  passwordRules,
  replacementOf,
  replacePassword,
  setPassword,
} from "./credential.ts"
export { findByLoginName, loginNamesOf, shownNames } from "./login-name.ts"
export {
  generateMachineSecret,
  isMachineSecret,
  removeMachineSecret,
} from "./machine-secret.ts"
export { type Metadata, removeMetadata, setMetadata } from "./metadata.ts"
export { heldMetadata } from "./metadata-view.ts"
export {
  type AccessTokenType,
  type Human,
  hasLeft,
  type Machine,
  type User,
  type UserEvent,
  user,
} from "./model.ts"
export { warmPasswords } from "./password.ts"
export {
  addPersonalToken,
  createPersonalToken,
  type KnownToken,
  readPersonalToken,
  removePersonalToken,
} from "./personal-token.ts"
export {
  accountOf,
  findMachine,
  findMachineByName,
  findUser,
  isPasswordChangeRequired,
  isUserActive,
  passwordVersion,
  profile,
  serviceUserKey,
  strangersOn,
  type UserChain,
  type UserInfo,
  userChain,
  userNameOf,
  usersOf,
} from "./query.ts"
export {
  addServiceKey,
  createServiceKey,
  importServiceKey,
  removeServiceKey,
  type ServiceKey,
} from "./service-key.ts"
export { callerOf } from "./v1.ts"
export { codesOf, newHuman } from "./v2.ts"
export { type UserRow, userKeys, users, userView } from "./view.ts"

/** What this room keeps streams of. */
export const aggregates = [user, passwordCheck, codeCount] as const

/** What this room shows. */
export const views = [userView, userMetadataView] as const

/** What an access rule may hang from, by the name of the resource. */
export const chains = {
  user: userChain,
  /** An organisation, by its primary domain. */
  org_domain: (cx: Cx, domain: string) => {
    const org = orgWithDomain(cx, domain)
    return org === undefined ? undefined : ({ instance: true, org } as const)
  },
} as const

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
] as const
