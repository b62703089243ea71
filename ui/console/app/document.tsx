import { renderToStaticMarkup } from "react-dom/server"

type DocumentFiles = {
  readonly css: string
  readonly consoleCss: string
  readonly pageJs: string
  readonly consoleJs: string
  /** The chunk that `consoleJs` imports immediately, to be preloaded. */
  readonly consoleShell: string
  readonly icon: string
}

/** The HTML document of the console and the account pages, served for all of their paths. */
export function consoleDocument(files: DocumentFiles): string {
  return renderToStaticMarkup(
    <html lang="en">
      <head>
        <meta charSet="utf-8" />
        <title>Latchkey</title>
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="referrer" content="no-referrer" />
        <meta name="robots" content="noindex" />
        <link rel="stylesheet" href={files.css} />
        <link rel="stylesheet" href={files.consoleCss} />
        <link rel="icon" href={files.icon} type="image/svg+xml" />
        <link rel="modulepreload" href={files.consoleShell} />
        <script src={files.pageJs} />
        <script type="module" src={files.consoleJs} />
      </head>
      <body>
        <div id="console" />
        <noscript>
          <p>The console requires JavaScript. The sign-in pages work without it.</p>
        </noscript>
      </body>
    </html>,
  )
}
