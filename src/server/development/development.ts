import { developmentTexts } from "../../../ui/development/index.ts"
import { uiEntry } from "../../gen/ui-assets.ts"
import type { Watcher } from "../../http/watcher.ts"
import { systemClock } from "../../kernel/clock.ts"
import { createShowPage } from "../../login/index.ts"
import { parseLanguages } from "../../protocol/accept.ts"
import type { ServerServices } from "../services.ts"
import { createMailbox } from "./mailbox.ts"
import { developmentRoutes } from "./pages.ts"
import { seed } from "./seed.ts"

/**
 * The additional parts of a development instance: fictitious users, a demo application, messages
 * that stay on this machine, and a banner on every page.
 */
export function createDevelopment(publicUrl: string, hasFixedKeys: boolean) {
  const mailbox = createMailbox(systemClock)
  return {
    catching: mailbox.catching,
    seed: (services: ServerServices) => seed(services, { publicUrl, hasFixedKeys }),
    areas: (services: ServerServices) => [
      developmentRoutes(services, {
        publicUrl,
        messages: mailbox.messages,
        show: createShowPage(uiEntry),
      }),
    ],
    watcher: {
      answer: async (request, _, next) => withBanner(request, await next()),
    } satisfies Watcher,
  }
}

/** Adds the banner to a page. */
async function withBanner({ headers }: Request, response: Response): Promise<Response> {
  if (!response.headers.get("content-type")?.startsWith("text/html")) return response
  const { t } = developmentTexts(parseLanguages(headers.get("accept-language")))
  const mark = `<a class="development-mark" href="/dev">${t("banner")}</a>`
  const html = (await response.text()).replace(/<body[^>]*>/, (body) => body + mark)
  return new Response(html, { status: response.status, headers: response.headers })
}
