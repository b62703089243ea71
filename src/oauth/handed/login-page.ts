import { type AskedFor, applicationAskedFor } from "../../domain/app/index.ts"
import { loginFeature } from "../../domain/feature/index.ts"
import { requireInstance } from "../../domain/instance/index.ts"
import type { Cx } from "../../store/index.ts"

/**
 * The address of the login page of somebody else that serves an application; undefined where ours
 * does. The application's own comes first, then the instance's. The console always has ours: who
 * has named a page that does not answer must get in to name another.
 */
export function loginPageOf(cx: Cx, asked: AskedFor): string | undefined {
  if (asked.clientId === requireInstance(cx).consoleClientId) return undefined
  const loginVersion = loginVersionOf(applicationAskedFor(cx, asked))
  if (!loginVersion) return undefined
  const { required, baseUri } = loginFeature(cx)
  const own = loginVersion.version === "v2" ? loginVersion.baseUri : ""
  const isElsewhere = required || loginVersion.version === "v2"
  const page = own || (isElsewhere ? baseUri : undefined)
  return page?.replace(/\/+$/, "") || undefined
}

function loginVersionOf(state: ReturnType<typeof applicationAskedFor>) {
  if (state?.kind === "oidc") return state.oidc.loginVersion
  return state?.kind === "saml" ? state.saml.loginVersion : undefined
}

/** The id of a request that is handed over; pages know by it which version of login it is for. */
export const handedId = (cx: Pick<Cx, "ids">): string => `V2_${cx.ids.next()}`
