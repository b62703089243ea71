/** Browsers by the token that identifies them in a User-Agent, most specific first. */
const browsers: readonly (readonly [RegExp, string])[] = [
  [/\bEdgi?A?(OS)?\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\bSamsungBrowser\//, "Samsung Internet"],
  [/\bVivaldi\//, "Vivaldi"],
  [/\b(Firefox|FxiOS)\//, "Firefox"],
  [/\b(Headless)?Chrom(e|ium)\/|\bCriOS\//, "Chrome"],
  [/\bVersion\/.*\bSafari\//, "Safari"],
  [/^curl\//, "curl"],
]

const systems: readonly (readonly [RegExp, string])[] = [
  [/\biPhone\b/, "iPhone"],
  [/\biPad\b/, "iPad"],
  [/\bAndroid\b/, "Android"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bWindows\b/, "Windows"],
  [/\bMac OS X\b|\bMacintosh\b/, "macOS"],
  [/\bLinux\b/, "Linux"],
]

export type BrowserName = { readonly browser?: string; readonly system?: string }

/**
 * Names the browser and system of a User-Agent header, for users who look for one of their devices.
 * The header can be forged and proves nothing.
 */
export function parseBrowserName(userAgent: string): BrowserName {
  // The patterns take quadratic time, and a header can be long.
  const truncated = userAgent.slice(0, maxUserAgentLength)
  const nameIn = (names: typeof browsers) => names.find(([word]) => word.test(truncated))?.[1]
  const [browser, system] = [nameIn(browsers), nameIn(systems)]
  return { ...(browser && { browser }), ...(system && { system }) }
}

/** In characters; real browsers use half of it. */
const maxUserAgentLength = 500
