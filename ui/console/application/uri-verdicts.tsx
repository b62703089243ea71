import { judge, malformationOf, type Redirecting } from "../../../src/protocol/redirect-uri.ts"
import { Badge } from "../../kit/index.ts"
import { linesOf } from "../form/index.ts"
import { has, t } from "../shell/index.ts"

type Verdict = "invalid" | "refused" | "advised" | "fine"

const tones = { invalid: "danger", refused: "danger", advised: "warning", fine: "done" } as const

type JudgedUri = { readonly uri: string; readonly verdict: Verdict; readonly why?: string }

type VerdictsProps = { readonly typed: string; readonly by: Redirecting }

/** What becomes of each redirect URI, said while one types it. */
export function RedirectUriVerdicts({ typed, by }: VerdictsProps) {
  const judged = unique(typed).map((uri) => ({ uri, ...judge(uri, by, location.origin) }))
  return <Verdicts judged={judged} />
}

/** The same where people return after they sign out: nothing secret goes there. */
export function PostLogoutUriVerdicts({ typed, by }: VerdictsProps) {
  const judged = unique(typed).map((uri): JudgedUri => {
    const why = malformationOf(uri, by.devMode)
    return why ? { uri, verdict: "invalid", why } : { uri, verdict: "fine" }
  })
  return <Verdicts judged={judged} />
}

/** Whether an address is refused only until plain http on private networks is allowed. */
export const wantsPrivateHttp = (typed: string, by: Redirecting): boolean =>
  linesOf(typed).some((uri) => {
    const judgement = judge(uri, { ...by, privateHttp: false }, location.origin)
    return judgement.verdict === "refused" && judgement.why === "http_private"
  })

/** Whether the server would not keep one of them. */
export const hasInvalid = (typed: string, devMode: boolean): boolean =>
  linesOf(typed).some((uri) => malformationOf(uri, devMode) !== undefined)

const unique = (typed: string) => [...new Set(linesOf(typed))]

function Verdicts({ judged }: { readonly judged: readonly JudgedUri[] }) {
  const wordsOf = (why: string | undefined) => {
    const key = `problem.redirect_uris.${why}`
    return has(key) ? t(key) : ""
  }
  return (
    <ul className="verdicts" aria-live="polite">
      {judged.map(({ uri, verdict, why }) => (
        <li key={uri}>
          <code>{uri}</code> <Badge tone={tones[verdict]}>{t(`verdict.${verdict}`)}</Badge>
          {why && <p className="small quiet">{wordsOf(why)}</p>}
        </li>
      ))}
    </ul>
  )
}
