import type { ReactElement } from "react"
import type { PageProps } from "../../ui/login/index.ts"
import { type Lru, lru } from "../kernel/lru.ts"

/**
 * A page with what it shows. `own` are the words of one browser, which the page puts where they
 * belong and never looks into: a number, a sealed value. `naming` has the props with texts that
 * follow the person, each within `word`: the page shows them as they are, in texts and attributes.
 */
export type Sheet<Props extends PageProps> = {
  readonly page: (props: Props) => ReactElement
  readonly props: Props
  readonly own: readonly string[]
  readonly naming?: (word: (text: string) => string) => Partial<Props>
}

/** Answers the page as text. */
export type Keep = <Props extends PageProps>(sheet: Sheet<Props>) => string

/** A page as text, and which own word stands behind each part but the last. */
type Pieces = readonly { readonly text: string; readonly word: number }[]

/** Of each page so many are kept, at most twice as many, of about four kilobytes each. */
const keptMax = 64

/** What stands in HTML, in JSON and in an address as it is, and is the name of nothing there. */
const plain = /^[\w.-]{12,}$/

/**
 * Renders pages that are alike but for words of one browser once, and puts the words in, which
 * costs a tenth of a rendering. `said` tells apart what the pages say: its language and words.
 * `mark` is something that no page has.
 */
export function keeperOf(
  render: (page: ReactElement) => string,
  mark: string,
): (said: string) => Keep {
  const pages = new Map<unknown, Lru<Pieces>>()
  const slot = new RegExp(`${mark}(\\d+)x`, "g")
  return (said) =>
    ({ page, props, own, naming }) => {
      // The longest first: one may be a part of another.
      const words = own.filter((word) => word !== "").toSorted((a, b) => b.length - a.length)
      if (!words.every((word) => plain.test(word))) return render(page(props))
      const texts: string[] = []
      const named = naming?.((text) => {
        if (!texts.includes(text)) texts.push(text)
        return `${mark}${words.length + texts.indexOf(text)}x`
      })
      // What the translator says follows from `said`, and the files are the same all the time.
      const shown = { ...props, ...named, t: undefined, assets: undefined }
      const blank = words.reduce(
        (text, word, at) => text.replaceAll(word, `${mark}${at}x`),
        JSON.stringify(shown),
      )
      const kept = pages.get(page) ?? lru<Pieces>(keptMax)
      pages.set(page, kept)
      const key = `${said} ${blank}`
      let pieces = kept.get(key)
      if (!pieces) {
        const again: object = JSON.parse(blank)
        pieces = piecesOf(render(page({ ...props, ...again })), slot)
        kept.set(key, pieces)
      }
      const put = [...words, ...texts.map((text) => Bun.escapeHTML(text))]
      return pieces.map(({ text, word }) => text + (put[word] ?? "")).join("")
    }
}

function piecesOf(html: string, slot: RegExp): Pieces {
  const parts = html.split(slot)
  return parts.flatMap((text, at) =>
    at % 2 === 0 ? [{ text, word: Number(parts[at + 1] ?? -1) }] : [],
  )
}
