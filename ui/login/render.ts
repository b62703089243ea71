import type { ReactElement } from "react"
import { renderToStaticMarkup } from "react-dom/server"

/** The HTML document of a page. */
export function renderPage(page: ReactElement): string {
  const markup = renderToStaticMarkup(page)
  return /^<!doctype/i.test(markup) ? markup : `<!DOCTYPE html>${markup}`
}
