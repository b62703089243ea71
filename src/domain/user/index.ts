import type { Cx } from "../../store/index.ts"
import { orgWithDomain } from "../org/index.ts"
import { passwordCheck } from "./attempt.ts"
import { codeCount } from "./code-count.ts"
import { userMetadataView } from "./metadata-view.ts"
import { user } from "./model.ts"
import { userChain } from "./query.ts"
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
  standingOf,
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
  type Admit,
  changedPassword,
  checkPassword,
  createPassword,
  importPassword,
  type NewPassword,
  type PasswordChange,
  type PasswordCheck,
  passwordOf,
  passwordRules,
  provePassword,
  replacementOf,
  replacePassword,
  setPassword,
} from "./credential.ts"
export {
  acceptInvite,
  checkInvite,
  type InviteCheck,
  invitationOf,
  invitedPassword,
  inviteUser,
} from "./invite.ts"
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
  signInVersion,
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
