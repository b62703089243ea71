import { Fault } from "../../kernel/fault.ts"
import { type Cx, fold } from "../../store/index.ts"
import { proveElsewhere } from "../credential/index.ts"
import {
  type Answered,
  answeredBy,
  type Found,
  findInDirectory,
  isProvedByDirectory,
} from "../idp/index.ts"
import { linkedUser } from "../user-link/index.ts"

/** What somebody types to say to a directory who they are. */
export type Credentials = { readonly username: string; readonly password: string }

const namesMax = 200
const passwordsMax = 1000

/**
 * Asks a directory who somebody is by their name and password. Tries are counted and slowed down as
 * those with passwords of ours are, for each entry whatever it is called by, and a name that is
 * nobody's is answered as a wrong password is.
 */
export async function answeredByDirectory(
  cx: Cx,
  found: Found,
  { username, password }: Credentials,
): Promise<Answered> {
  const name = username.trim()
  // A server would take an empty password for none at all, and let anybody in (RFC 4513 §5.1.2).
  if (password === "" || password.length > passwordsMax) throw wrongError()
  if (name === "" || name.length > namesMax) throw wrongError()
  cx.allowance?.spend("guess")
  const idpId = found.idp.id
  const known = await findInDirectory(cx, found, name)
  const who = known ? { id: known.identity.externalId } : { name: fold(name) }
  const account = known && linkedUser(cx, { idpId, externalId: known.identity.externalId })
  const tried = { where: idpId, who: JSON.stringify(who), account, isKnown: !!known }
  const isTheirs = await proveElsewhere(cx, tried, async () =>
    known ? isProvedByDirectory(cx, found, { name: known.bindName, password }) : false,
  )
  if (!known || !isTheirs) throw wrongError()
  cx.allowance?.refund("guess")
  const { identity, raw } = known
  // The password was typed just now.
  const authenticatedAt = cx.clock.now()
  return answeredBy(cx, found, { identity, raw, accessToken: "", idToken: "", authenticatedAt })
}

const wrongError = () =>
  new Fault(
    "unauthenticated",
    "idp.credentials_wrong",
    "the directory knows no such name with this password; check both",
  )
