import type { Requested } from "../../domain/grant/index.ts"
import { lookOrgOf, type ShowPage } from "../../login/index.ts"
import { wordsOf } from "../request.ts"

const languagesMax = 10

/** OpenID Connect Core §3.1.2.1, ui_locales: what the person reads, best first. */
export const languagesOf = (uiLocales: string | null | undefined): readonly string[] =>
  wordsOf(uiLocales ?? undefined).slice(0, languagesMax)

/** Shows pages in these languages, where they say nothing else. */
export const inLanguages =
  (show: ShowPage, languages: readonly string[]): ShowPage =>
  (cx, render, options) =>
    show(cx, render, { languages, ...options })

/** Shows pages of a request in its languages, and with the look that it has. */
export const shownFor =
  (show: ShowPage, asked: Requested): ShowPage =>
  (cx, render, options) =>
    show(cx, render, {
      languages: asked.languages,
      orgId: lookOrgOf(cx, asked),
      ...options,
    })
