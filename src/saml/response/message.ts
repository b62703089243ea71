import type { Cx } from "../../store/index.ts"
import { type Status, statuses } from "../../xml/names.ts"
import { timeText } from "../../xml/read.ts"
import { element, type Written } from "../../xml/write.ts"
import { selfOf } from "../path.ts"

/** SAML Core §1.3.4: an ID that nobody else makes, which begins as a name does. */
export const newId = (cx: Pick<Cx, "random">): string =>
  `_${Buffer.from(cx.random.bytes(20)).toString("hex")}`

type Addressed = {
  readonly destination: string
  /** The ID of what is answered; absent where nobody has asked. */
  readonly inResponseTo?: string | undefined
  /** Who says it; what applications know us by where it isn't said. */
  readonly issuer?: string
}

/** What every message of ours begins with (SAML Core §3.2). */
export function message(
  cx: Cx,
  name: "samlp:Response" | "samlp:LogoutRequest" | "samlp:LogoutResponse",
  { destination, inResponseTo, issuer = selfOf(cx).entityId }: Addressed,
  ...children: readonly Written[]
): Written {
  return element(
    name,
    {
      ID: newId(cx),
      Version: "2.0",
      IssueInstant: timeText(cx.clock.now()),
      Destination: destination,
      InResponseTo: inResponseTo,
    },
    element("saml:Issuer", {}, issuer),
    ...children,
  )
}

/** Those whose fault lies with who asked (SAML Core §3.2.2.2). */
const askers: readonly Status[] = [
  "invalidNameIdPolicy",
  "requestUnsupported",
  "unsupportedBinding",
  "invalidAttr",
  "unknownPrincipal",
]

function topOf(status: Status): string {
  // §3.7.3.2: the session is over here, which is what was asked for.
  if (status === "partialLogout") return statuses.success
  return askers.includes(status) ? statuses.requester : statuses.responder
}

/** SAML Core §3.2.2: how it went, and why it went wrong. */
export function statusOf(status: Status, why = ""): Written {
  const isTop = status === "success" || status === "versionMismatch"
  const code = isTop
    ? element("samlp:StatusCode", { Value: statuses[status] })
    : element(
        "samlp:StatusCode",
        { Value: topOf(status) },
        element("samlp:StatusCode", { Value: statuses[status] }),
      )
  return element(
    "samlp:Status",
    {},
    code,
    why === "" ? undefined : element("samlp:StatusMessage", {}, why),
  )
}
