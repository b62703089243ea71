import {
  assessRedirectUri,
  findRedirectUriError,
  type RedirectSettings,
} from "../../../src/protocol/redirect-uri.ts"
import { Badge } from "../../kit/index.ts"
import { linesOf } from "../form/index.ts"
import { has, t } from "../shell/index.ts"

type Verdict = "invalid" | "refused" | "advised" | "fine"

const tones = { invalid: "danger", refused: "danger", advised: "warning", fine: "done" } as const

type UriVerdict = { readonly uri: string; readonly verdict: Verdict; readonly reason?: string }

type VerdictsProps = { readonly typed: string; readonly context: RedirectSettings }

/** The verdict for each redirect URI while it is typed. */
export function RedirectUriVerdicts({ typed, context }: VerdictsProps) {
  const judged = unique(typed).map((uri) => ({
    uri,
    ...assessRedirectUri(uri, context, location.origin),
  }))
  return <Verdicts judged={judged} />
}

/** The verdict for each post-logout URI; these receive no secrets, so fewer rules apply. */
export function PostLogoutUriVerdicts({ typed, context }: VerdictsProps) {
  const judged = unique(typed).map((uri): UriVerdict => {
    const reason = findRedirectUriError(uri, context.devMode)
    return reason ? { uri, verdict: "invalid", reason } : { uri, verdict: "fine" }
  })
  return <Verdicts judged={judged} />
}

/** Whether a URI is only rejected because plain HTTP on private networks is not allowed. */
export const needsPrivateHttp = (typed: string, context: RedirectSettings): boolean =>
  linesOf(typed).some((uri) => {
    const judgement = assessRedirectUri(uri, { ...context, privateHttp: false }, location.origin)
    return judgement.verdict === "refused" && judgement.reason === "http_private"
  })

/** Whether the server would reject one of the URIs. */
export const hasInvalid = (typed: string, devMode: boolean): boolean =>
  linesOf(typed).some((uri) => findRedirectUriError(uri, devMode) !== undefined)

const unique = (typed: string) => [...new Set(linesOf(typed))]

function Verdicts({ judged }: { readonly judged: readonly UriVerdict[] }) {
  const problemText = (reason: string | undefined) => {
    const key = `problem.redirect_uris.${reason}`
    return has(key) ? t(key) : ""
  }
  return (
    <ul className="verdicts" aria-live="polite">
      {judged.map(({ uri, verdict, reason }) => (
        <li key={uri}>
          <code>{uri}</code> <Badge tone={tones[verdict]}>{t(`verdict.${verdict}`)}</Badge>
          {reason && <p className="small quiet">{problemText(reason)}</p>}
        </li>
      ))}
    </ul>
  )
}
