import { selfCheckHeader } from "../../../protocol/self-check/self-check.ts"
import type { Send } from "./part.ts"

/** A page that a sign-in has come to; one elsewhere is not fetched, its text is empty. */
export type Page = { readonly url: string; readonly status: number; readonly text: string }

const hopsMax = 12
const timeoutMs = 15_000

/** A browser as simple as it can be: it follows redirects, keeps cookies and posts forms. */
export function browserOf(send: Send, { token, origin }: { token: string; origin: string }) {
  const cookies = new Map<string, string>()

  async function go(url: string, init: RequestInit = {}, hops = 0): Promise<Page> {
    if (hops > hopsMax) throw new Error(`too many redirects, the last to ${url}`)
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ")
    const headers = {
      accept: "text/html",
      "accept-language": "en",
      origin,
      cookie,
      [selfCheckHeader]: token,
    }
    const signal = AbortSignal.timeout(timeoutMs)
    const response = await send(url, { ...init, headers, redirect: "manual", signal })
    for (const line of response.headers.getSetCookie()) keep(line)
    const text = await response.text()
    const location = response.headers.get("location") ?? continuedTo(text)
    if (location === undefined) return { url, status: response.status, text }
    const next = new URL(location, url)
    if (next.origin === origin) return go(next.href, {}, hops + 1)
    return { url: next.href, status: response.status, text: "" }
  }

  function keep(line: string): void {
    const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? []
    if (value === "") cookies.delete(name)
    else cookies.set(name, value)
  }

  return {
    get: (url: string) => go(url),
    /** Posts the form of a page that has this field, with its own fields and these. */
    post: (page: Page, field: string, values: Readonly<Record<string, string>>) => {
      const form = formWith(page.text, field)
      if (form === undefined) throw new Error(`the page ${pathOf(page)} has no field ${field}`)
      const action = new URL(attribute(form, "action") ?? page.url, page.url).href
      const body = new URLSearchParams({ ...hiddenIn(form), ...values })
      return go(action, { method: "POST", body })
    },
  }
}

export const pathOf = ({ url }: Page): string => new URL(url).pathname

/** A page in words: what it says is wrong, its heading, or where its text begins. */
export function headingOf({ text }: Page): string {
  const [, found = text] =
    /role="alert"[^>]*>([\s\S]*?)<\/(?:p|div|span)>/.exec(text) ??
    /<h1[^>]*>([\s\S]*?)<\/h1>/.exec(text) ??
    []
  const words = plain(found.replace(/<[^>]*>/g, " "))
  return words.replace(/\s+/g, " ").trim().slice(0, 200)
}

const formWith = (text: string, field: string): string | undefined =>
  [...text.matchAll(/<form[\s\S]*?<\/form>/g)]
    .map(([form]) => form)
    .find((form) => form.includes(`name="${field}"`))

const hiddenIn = (form: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...form.matchAll(/<input[^>]*>/g)].flatMap(([input]) => {
      const name = attribute(input, "name")
      return name === undefined ? [] : [[name, attribute(input, "value") ?? ""] as const]
    }),
  )

/** Where a page continues by itself; undefined for a page that waits for its reader. */
function continuedTo(page: string): string | undefined {
  const [, found] = /<meta http-equiv="refresh" content="0;url=([^"]*)"/.exec(page) ?? []
  return found && plain(found)
}

function attribute(tag: string, name: string): string | undefined {
  const [, found] = new RegExp(`\\b${name}="([^"]*)"`).exec(tag) ?? []
  return found === undefined ? undefined : plain(found)
}

const plain = (text: string): string =>
  text
    .replaceAll("&quot;", '"')
    .replaceAll("&#x27;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&")
