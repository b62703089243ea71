import { passwordCheck } from "./attempt.ts"
import { user } from "./model.ts"
import { userChain } from "./query.ts"

export { type Attempts, attemptsOf } from "./attempt.ts"
export { createCode, type NewCode } from "./code.ts"
export {
  deactivateUser,
  lockUser,
  reactivateUser,
  removeUser,
  unlockUser,
  updateUser,
} from "./commands.ts"
export {
  addUser,
  createUser,
  type NewContact,
  type NewHuman,
  type NewMachine,
  type NewUser,
} from "./create.ts"
export {
  checkPassword,
  createPassword,
  importPassword,
  type NewPassword,
  type PasswordCheck,
  passwordRules,
  setPassword,
} from "./credential.ts"
export {
  type AccessTokenType,
  type Human,
  hasLeft,
  type Machine,
  type User,
  user,
} from "./model.ts"
export { warmPasswords } from "./password.ts"
export {
  accountOf,
  findByLoginName,
  findMachineByName,
  findUser,
  isPasswordChangeRequired,
  isUserActive,
  passwordVersion,
  profile,
  serviceUserKey,
  type UserChain,
  type UserInfo,
  userChain,
  userNameOf,
} from "./query.ts"
export {
  addServiceKey,
  createServiceKey,
  importServiceKey,
  never,
  removeServiceKey,
  type ServiceKey,
} from "./service-key.ts"
export { type UserRow, userKeys, users, userView } from "./view.ts"

/** What this room keeps streams of. */
export const aggregates = [user, passwordCheck] as const

/** What an access rule may hang from, by the name of the resource. */
export const chains = { user: userChain } as const
