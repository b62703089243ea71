import type { UserAgent } from "../../../src/gen/core/session/v2/session_pb.ts"
import { browserNameOf } from "../../../src/kernel/text/browser-name.ts"
import { t } from "../shell/index.ts"

/** From where somebody signed in, in words: the browser, its system, the address. */
export function SignInPlace({ userAgent }: { readonly userAgent: UserAgent | undefined }) {
  return (
    <>
      <span title={headerOf(userAgent)}>{placeOf(userAgent)}</span>
      {userAgent?.ip && (
        <>
          {" "}
          <span className="quiet small">{userAgent.ip}</span>
        </>
      )}
    </>
  )
}

/** "Firefox on Windows"; what a login page of somebody else says, where it does. */
export function placeOf(userAgent: UserAgent | undefined): string {
  const { browser, system } = browserNameOf(headerOf(userAgent))
  if (browser && system) return t("sessions.place", { browser, system })
  return browser ?? system ?? (userAgent?.description || t("sessions.place_unknown"))
}

function headerOf(userAgent: UserAgent | undefined): string {
  const headers = Object.entries(userAgent?.header ?? {})
  return headers.find(([name]) => name.toLowerCase() === "user-agent")?.[1].values[0] ?? ""
}
