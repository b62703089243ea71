import { Fault } from "../../kernel/fault.ts"
import { type Cx, fold } from "../../store/index.ts"
import { checkExternalPassword } from "../credential/index.ts"
import {
  type AuthenticatedAnswer,
  findInDirectory,
  type OwnedIdp,
  verifyDirectoryPassword,
  withAuthority,
} from "../idp/index.ts"
import { findLinkedUser } from "../user-link/index.ts"

/** The user name and password for a directory. */
export type Credentials = { readonly username: string; readonly password: string }

const nameCharactersMax = 200
const passwordCharactersMax = 1000

/**
 * Authenticates a user with a directory. Attempts are limited per directory entry, like those with
 * local passwords, and an unknown name gives the same error as a wrong password.
 */
export async function authenticateWithDirectory(
  cx: Cx,
  idp: OwnedIdp,
  { username, password }: Credentials,
): Promise<AuthenticatedAnswer> {
  const name = username.trim()
  // A server treats a bind with an empty password as anonymous and accepts it (RFC 4513 §5.1.2).
  if (password === "" || password.length > passwordCharactersMax) throw wrongCredentialsError()
  if (name === "" || name.length > nameCharactersMax) throw wrongCredentialsError()
  cx.allowance?.spend("guess")
  const idpId = idp.idp.id
  const known = await findInDirectory(cx, idp, name)
  const who = known ? { id: known.identity.externalId } : { name: fold(name) }
  const account = known && findLinkedUser(cx, { idpId, externalId: known.identity.externalId })
  const tried = { authority: idpId, subject: JSON.stringify(who), account, isKnown: !!known }
  const isTheirs = await checkExternalPassword(cx, tried, async () =>
    known ? verifyDirectoryPassword(cx, idp, { name: known.bindName, password }) : false,
  )
  if (!known || !isTheirs) throw wrongCredentialsError()
  cx.allowance?.refund("guess")
  const { identity, raw } = known
  // The user entered the password just now.
  const authenticatedAt = cx.clock.now()
  return withAuthority(cx, idp, { identity, raw, accessToken: "", idToken: "", authenticatedAt })
}

const wrongCredentialsError = () =>
  new Fault(
    "unauthenticated",
    "idp.credentials_wrong",
    "the user name or password is incorrect; check both",
  )
