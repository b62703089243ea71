import { selfCheckHeader } from "../../../protocol/self-check/self-check.ts"
import type { Send } from "./messages.ts"

/** A page of the sign-in. A page of another origin is not fetched and has an empty text. */
export type Page = { readonly url: string; readonly status: number; readonly text: string }

const redirectsMax = 12
const timeoutMs = 15_000

/** A minimal browser: it follows redirects, keeps cookies and posts forms. */
export function createBrowser(send: Send, { token, origin }: { token: string; origin: string }) {
  const cookies = new Map<string, string>()

  async function go(url: string, init: RequestInit = {}, hops = 0): Promise<Page> {
    if (hops > redirectsMax) throw new Error(`too many redirects, the last one to ${url}`)
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
    const location = response.headers.get("location") ?? autoRedirectOf(text)
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
    /**
     * Submits the form of a page that contains this field, with its hidden fields and these values.
     */
    post: (page: Page, field: string, values: Readonly<Record<string, string>>) => {
      const form = findForm(page.text, field)
      if (form === undefined) throw new Error(`the page ${pathOf(page)} has no field ${field}`)
      const action = new URL(attributeOf(form, "action") ?? page.url, page.url).href
      const body = new URLSearchParams({ ...hiddenFieldsOf(form), ...values })
      return go(action, { method: "POST", body })
    },
  }
}

export const pathOf = ({ url }: Page): string => new URL(url).pathname

/** A summary of a page: its error message, its heading or the start of its text. */
export function summaryOf({ text }: Page): string {
  const [, found = text] =
    /role="alert"[^>]*>([\s\S]*?)<\/(?:p|div|span)>/.exec(text) ??
    /<h1[^>]*>([\s\S]*?)<\/h1>/.exec(text) ??
    []
  const message = decodeEntities(found.replace(/<[^>]*>/g, " "))
  return message.replace(/\s+/g, " ").trim().slice(0, 200)
}

const findForm = (text: string, field: string): string | undefined =>
  [...text.matchAll(/<form[\s\S]*?<\/form>/g)]
    .map(([form]) => form)
    .find((form) => form.includes(`name="${field}"`))

const hiddenFieldsOf = (form: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...form.matchAll(/<input[^>]*>/g)].flatMap(([input]) => {
      const name = attributeOf(input, "name")
      return name === undefined ? [] : [[name, attributeOf(input, "value") ?? ""] as const]
    }),
  )

/** The URL to which a page redirects automatically; undefined if it waits for the user. */
function autoRedirectOf(page: string): string | undefined {
  const [, found] = /<meta http-equiv="refresh" content="0;url=([^"]*)"/.exec(page) ?? []
  return found && decodeEntities(found)
}

function attributeOf(tag: string, name: string): string | undefined {
  const [, found] = new RegExp(`\\b${name}="([^"]*)"`).exec(tag) ?? []
  return found === undefined ? undefined : decodeEntities(found)
}

const decodeEntities = (text: string): string =>
  text
    .replaceAll("&quot;", '"')
    .replaceAll("&#x27;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&")
