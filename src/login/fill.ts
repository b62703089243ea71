import type { ReactElement } from "react"
import type { PageProps } from "../../ui/login/index.ts"
import { lru } from "../kernel/lru.ts"

/** What differs from one showing of a page to the next, by name. */
type Words = Readonly<Record<string, string>>

/** A page of which `props` says what it shows; in its words' places others are put, too. */
export type Sheet<Props extends PageProps, W extends Words> = {
  readonly page: (props: Props) => ReactElement
  readonly props: (words: W) => Props
  readonly words: W
}

export type Fill = <Props extends PageProps, W extends Words>(sheet: Sheet<Props, W>) => string

type Rendering = (page: ReactElement) => string
type Pieces = readonly { readonly text: string; readonly word: string | undefined }[]

/** Sheets that are kept of each page, at most twice as many, of about five kilobytes each. */
const sheetsMax = 64

/**
 * Renders pages that are alike but for a few words once, and puts the words in, escaped: a
 * rendering costs twenty times as much. The words may stand in texts and attributes; a page may
 * ask whether one is empty or the same as another, and nothing else of them. `mark` is something
 * that no text has.
 */
export function fillerOf(render: Rendering, mark: string): Fill {
  const pages = new Map<unknown, ReturnType<typeof lru<Pieces>>>()
  const slot = new RegExp(`${mark}-(\\w+)-`, "g")
  return ({ page, props, words }) => {
    const kept = pages.get(page) ?? lru<Pieces>(sheetsMax)
    pages.set(page, kept)
    const blank = props(slotsOf(words, mark))
    // Functions are left out: `t` follows from the language.
    const key = JSON.stringify(blank)
    let pieces = kept.get(key)
    if (!pieces) {
      pieces = piecesOf(render(page(blank)), slot)
      kept.set(key, pieces)
    }
    const put = (word: string | undefined) => (word ? Bun.escapeHTML(words[word] ?? "") : "")
    return pieces.map(({ text, word }) => text + put(word)).join("")
  }
}

/** What stands for the words: nothing for an empty one, and the same for equal ones. */
function slotsOf<W extends Words>(words: W, mark: string): W {
  const names = Object.entries(words)
  const slots = names.map(([name, value]) => {
    const [first = name] = names.find((other) => other[1] === value) ?? []
    return [name, value && `${mark}-${first}-`]
  })
  return Object.fromEntries(slots)
}

function piecesOf(html: string, slot: RegExp): Pieces {
  const parts = html.split(slot)
  return parts.flatMap((text, index) => (index % 2 ? [] : [{ text, word: parts[index + 1] }]))
}
