import { samlParticipants } from "../../domain/grant/index.ts"
import { browserContextOf } from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"
import type { LogoutService } from "../../xml/metadata.ts"
import type { Status } from "../../xml/names.ts"
import { attributeOf, childOf, childrenOf, type Element, textOf, timeOf } from "../../xml/read.ts"
import { reading, refusedError } from "../error.ts"
import { selfOf } from "../path.ts"
import type { Opened } from "../request/receive.ts"

const minute = 60_000

/** SAML Core §3.2.1: a message about the end of a session, for us and of now. */
export function mustBeCurrent(
  cx: Cx,
  root: Element,
  { slo }: { readonly slo: string } = selfOf(cx),
): void {
  const destination = attributeOf(root, "Destination")
  if (destination !== undefined && destination !== slo) {
    throw refusedError(`Destination must be ${slo}`)
  }
  const now = cx.clock.now()
  const issued = timeOf(attributeOf(root, "IssueInstant")) ?? 0
  const end = timeOf(attributeOf(root, "NotOnOrAfter")) ?? Infinity
  if (Math.abs(issued - now) > 60 * minute || end + 5 * minute <= now) {
    throw refusedError("the message is too old; sign out again")
  }
}

/** Whom a request names; or why it is for nobody. */
export type Named =
  | { readonly name: string; readonly indexes: readonly string[] }
  | { readonly status: Status }

/** SAML Core §3.7.1: the name, and the sessions that a request means. */
export function namedBy({ found, root, isSigned }: Opened): Named {
  const indexes = childrenOf(root, "samlp", "SessionIndex").map((each) => textOf(each, reading))
  // SAML Profiles §4.4.3.1. Who has no key to sign with names what it alone was told.
  if (!isSigned && (found.provider.signingKeys.length > 0 || indexes.length === 0)) {
    return { status: "requestDenied" }
  }
  const nameId = childOf(root, ["saml", "NameID"], reading)
  if (!nameId) return { status: "requestUnsupported" }
  return { name: textOf(nameId, reading), indexes }
}

type Meaning = {
  readonly appId: string
  readonly name: string
  readonly indexes: readonly string[]
}

/**
 * The sessions that are meant, of those that an application was told about, by the name that it was
 * told. Without a session index all of this browser's.
 */
export async function meantBy(
  cx: Cx,
  { appId, name, indexes }: Meaning,
  request: Request,
): Promise<readonly string[]> {
  const named = indexes.length > 0 ? indexes.slice(0, indexesMax) : await here(cx, request)
  const sessions = named.filter((id) =>
    samlParticipants(cx, id).some((each) => each.appId === appId && each.nameId === name),
  )
  return [...new Set(sessions)]
}

type Logging = { readonly provider: { readonly logout: readonly LogoutService[] } }

const indexesMax = 20

const here = async (cx: Cx, request: Request): Promise<readonly string[]> =>
  (await browserContextOf(cx, request)).browser.sessions

/** Where somebody is told that a session is over: by an address, where they take one. */
export function logoutServiceOf({ provider }: Logging): LogoutService | undefined {
  const { logout } = provider
  return logout.find(({ binding }) => binding === "redirect") ?? logout[0]
}
