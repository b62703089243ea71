import type { AuthorizationRequest } from "../../domain/grant/index.ts"
import { brandingOrgOf, type ShowPage } from "../../login/index.ts"
import { splitWords } from "../parameters.ts"

const languagesMax = 10

/** OpenID Connect Core §3.1.2.1, ui_locales: the user's languages, best first. */
export const parseLanguages = (uiLocales: string | null | undefined): readonly string[] =>
  splitWords(uiLocales ?? undefined).slice(0, languagesMax)

/** Renders pages in these languages by default. */
export const withLanguages =
  (show: ShowPage, languages: readonly string[]): ShowPage =>
  (cx, render, options) =>
    show(cx, render, { languages, ...options })

/** Renders pages of a request in its languages and with its branding. */
export const showPageFor =
  (show: ShowPage, request: AuthorizationRequest): ShowPage =>
  (cx, render, options) =>
    show(cx, render, {
      languages: request.languages,
      orgId: brandingOrgOf(cx, request),
      ...options,
    })
