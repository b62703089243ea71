import { type ApplicationReference, findReferencedApplication } from "../../domain/app/index.ts"
import { loginFeature } from "../../domain/feature/index.ts"
import { requireInstance } from "../../domain/instance/index.ts"
import type { Cx } from "../../store/index.ts"

/**
 * The URL of the custom login page of an application; undefined if our own pages serve it. The
 * application's setting precedes the instance's. The console always uses our own pages, so that an
 * administrator can correct a page that does not work.
 */
export function findCustomLoginPage(cx: Cx, reference: ApplicationReference): string | undefined {
  if (reference.clientId === requireInstance(cx).consoleClientId) return undefined
  const loginVersion = loginVersionOf(findReferencedApplication(cx, reference))
  if (!loginVersion) return undefined
  const { required, baseUri } = loginFeature(cx)
  const own = loginVersion.version === "v2" ? loginVersion.baseUri : ""
  const isElsewhere = required || loginVersion.version === "v2"
  const page = own || (isElsewhere ? baseUri : undefined)
  return page?.replace(/\/+$/, "") || undefined
}

function loginVersionOf(state: ReturnType<typeof findReferencedApplication>) {
  if (state?.kind === "oidc") return state.oidc.loginVersion
  return state?.kind === "saml" ? state.saml.loginVersion : undefined
}

/** The ID of a request for a custom login page, which recognizes the login version by it. */
export const newCustomLoginId = (cx: Pick<Cx, "ids">): string => `V2_${cx.ids.next()}`
