import type { ReactElement } from "react"
import { renderToStaticMarkup } from "react-dom/server"

/** One page as the document a browser gets. */
export function renderPage(page: ReactElement): string {
  const markup = renderToStaticMarkup(page)
  return /^<!doctype/i.test(markup) ? markup : `<!DOCTYPE html>${markup}`
}
