/** What a browser calls itself, by the word that tells it: the more special ones come first. */
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
 * Names the browser and the system of a User-Agent header, for people who look for one of theirs.
 * It is what the browser says of itself and proves nothing.
 */
export function browserNameOf(userAgent: string): BrowserName {
  // A pattern takes time by the square of the length, and a header may be long.
  const said = userAgent.slice(0, userAgentMax)
  const nameIn = (names: typeof browsers) => names.find(([word]) => word.test(said))?.[1]
  const [browser, system] = [nameIn(browsers), nameIn(systems)]
  return { ...(browser && { browser }), ...(system && { system }) }
}

/** Characters; those of browsers have half of it. */
const userAgentMax = 500
