import { developmentTexts } from "../../../ui/development/index.ts"
import { uiEntry } from "../../gen/ui-assets.ts"
import type { Watcher } from "../../http/watcher.ts"
import { systemClock } from "../../kernel/clock.ts"
import { pagesWith } from "../../login/index.ts"
import { languagesOf } from "../../protocol/accept.ts"
import type { ServerServices } from "../services.ts"
import { mailboxOf } from "./mailbox.ts"
import { developmentRoutes } from "./pages.ts"
import { seed } from "./seed.ts"

/**
 * What makes an instance one to develop against: made-up people, a demo application, messages that
 * stay here, and a mark on every page that says so.
 */
export function developmentOf(publicUrl: string, hasFixedKeys: boolean) {
  const mailbox = mailboxOf(systemClock)
  return {
    catching: mailbox.catching,
    seed: (services: ServerServices) => seed(services, { publicUrl, hasFixedKeys }),
    areas: (services: ServerServices) => [
      developmentRoutes(services, {
        publicUrl,
        messages: mailbox.messages,
        show: pagesWith(uiEntry),
      }),
    ],
    watcher: {
      answer: async (request, _, next) => marked(request, await next()),
    } satisfies Watcher,
  }
}

/** Puts the mark on a page, whoever made it. */
async function marked({ headers }: Request, response: Response): Promise<Response> {
  if (!response.headers.get("content-type")?.startsWith("text/html")) return response
  const { t } = developmentTexts(languagesOf(headers.get("accept-language")))
  const mark = `<a class="development-mark" href="/dev">${t("banner")}</a>`
  const html = (await response.text()).replace(/<body[^>]*>/, (body) => body + mark)
  return new Response(html, { status: response.status, headers: response.headers })
}
