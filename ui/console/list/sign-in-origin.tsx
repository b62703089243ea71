import type { UserAgent } from "../../../src/gen/core/session/v2/session_pb.ts"
import { browserNameOf } from "../../../src/protocol/browser-name.ts"
import { t } from "../shell/index.ts"

/** From where somebody signed in, in words: the browser, its system, the address. */
export function SignInOrigin({ userAgent }: { readonly userAgent: UserAgent | undefined }) {
  const header = headerOf(userAgent)
  return <Place words={originText(userAgent)} header={header} address={userAgent?.ip ?? ""} />
}

type BrowserPlaceProps = { readonly userAgent: string; readonly address: string }

/** The same of a header and an address. */
export const BrowserOrigin = ({ userAgent, address }: BrowserPlaceProps) => (
  <Place words={browserWords(userAgent)} header={userAgent} address={address} />
)

type PlaceProps = { readonly words: string; readonly header: string; readonly address: string }

const Place = ({ words, header, address }: PlaceProps) => (
  <>
    <span title={header}>{words}</span>
    {address && (
      <>
        {" "}
        <span className="quiet small">{address}</span>
      </>
    )}
  </>
)

/** "Firefox on Windows"; what a login page of somebody else says, where it does. */
export const originText = (userAgent: UserAgent | undefined): string =>
  browserWords(headerOf(userAgent), userAgent?.description)

function browserWords(header: string, description = ""): string {
  const { browser, system } = browserNameOf(header)
  if (browser && system) return t("sessions.place", { browser, system })
  return browser ?? system ?? (description || t("sessions.place_unknown"))
}

function headerOf(userAgent: UserAgent | undefined): string {
  const headers = Object.entries(userAgent?.header ?? {})
  return headers.find(([name]) => name.toLowerCase() === "user-agent")?.[1].values[0] ?? ""
}
