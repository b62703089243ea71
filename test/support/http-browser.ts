/** The page of a browser; a URL on another origin is not fetched, and its text is empty. */
export type Page = { readonly url: string; readonly text: string }

type Fields = Readonly<Record<string, string>>

/** The function that sends requests. */
export type Send = (url: string, init: RequestInit) => Promise<Response>

/** A minimal browser: follows redirects, keeps cookies, posts forms. */
export function openHttpBrowser(send: Send = fetch) {
  const cookies = new Map<string, string>()

  async function go(url: string, init: RequestInit = {}): Promise<Page> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ")
    const headers = { accept: "text/html", cookie }
    const response = await send(url, { ...init, headers, redirect: "manual" })
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      cookies.set(name, value)
    }
    const text = await response.text()
    const location = response.headers.get("location") ?? refreshTarget(text)
    if (location === undefined) return { url, text }
    const next = new URL(location, url)
    return next.origin === new URL(url).origin ? go(next.href) : { url: next.href, text: "" }
  }

  return {
    get: (url: string) => go(url),
    /** Posts the page's first form with its own fields and the changes. */
    post: (page: Page, changes: Fields) => {
      const { action, fields } = parseForm(page)
      const body = new URLSearchParams({ ...fields, ...changes })
      return go(action, { method: "POST", body })
    },
  }
}

/** The target of a page's automatic redirect; undefined for other pages. */
export const refreshTarget = (page: string): string | undefined =>
  /<meta http-equiv="refresh" content="0;url=([^"]*)"/
    .exec(page)?.[1]
    ?.replaceAll("&quot;", '"')
    .replaceAll("&#x27;", "'")
    .replaceAll("&amp;", "&")

/** The first form of a page: its action, and the values of its inputs. */
export function parseForm({ url, text }: Page): {
  readonly action: string
  readonly fields: Fields
} {
  const [form = ""] = /<form[\s\S]*?<\/form>/.exec(text) ?? []
  const action = new URL(attribute(form, "action") ?? url, url).href
  const inputs = [...form.matchAll(/<input[^>]*>/g)].flatMap(([input]) => {
    const name = attribute(input, "name")
    return name === undefined ? [] : [[name, attribute(input, "value") ?? ""] as const]
  })
  return { action, fields: Object.fromEntries(inputs) }
}

const attribute = (tag: string, name: string): string | undefined =>
  new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1]?.replaceAll("&amp;", "&")
