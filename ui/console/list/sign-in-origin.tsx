import type { UserAgent } from "../../../src/gen/core/session/v2/session_pb.ts"
import { parseBrowserName } from "../../../src/protocol/browser-name.ts"
import { t } from "../shell/index.ts"

/** The origin of a sign-in: browser, system and address. */
export function SignInOrigin({ userAgent }: { readonly userAgent: UserAgent | undefined }) {
  const header = headerOf(userAgent)
  return (
    <OriginText words={formatOrigin(userAgent)} header={header} address={userAgent?.ip ?? ""} />
  )
}

type BrowserOriginProps = { readonly userAgent: string; readonly address: string }

/** The origin from a User-Agent header and an address. */
export const BrowserOrigin = ({ userAgent, address }: BrowserOriginProps) => (
  <OriginText words={describeBrowser(userAgent)} header={userAgent} address={address} />
)

type OriginTextProps = { readonly words: string; readonly header: string; readonly address: string }

const OriginText = ({ words: text, header, address }: OriginTextProps) => (
  <>
    <span title={header}>{text}</span>
    {address && (
      <>
        {" "}
        <span className="quiet small">{address}</span>
      </>
    )}
  </>
)

/** "Firefox on Windows", or the description sent by a custom login page. */
export const formatOrigin = (userAgent: UserAgent | undefined): string =>
  describeBrowser(headerOf(userAgent), userAgent?.description)

function describeBrowser(header: string, description = ""): string {
  const { browser, system } = parseBrowserName(header)
  if (browser && system) return t("sessions.place", { browser, system })
  return browser ?? system ?? (description || t("sessions.place_unknown"))
}

function headerOf(userAgent: UserAgent | undefined): string {
  const headers = Object.entries(userAgent?.header ?? {})
  return headers.find(([name]) => name.toLowerCase() === "user-agent")?.[1].values[0] ?? ""
}
