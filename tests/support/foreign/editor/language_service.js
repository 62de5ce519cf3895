// Asks the language service of VS Code's JSON editor: what it proposes, shows and finds wrong, with a schema.
// A JSON list of {"schema", "text", "offset"} on standard input; on standard output a list of what it says of each.
"use strict";

const { readFileSync } = require("node:fs");
const { getLanguageService, TextDocument } = require("vscode-json-languageservice");

async function answer({ schema, text, offset }) {
  const service = getLanguageService({});
  service.configure({ validate: true, schemas: [{ uri: "test:schema", fileMatch: ["*"], schema }] });
  const document = TextDocument.create("file:///Spec.json", "jsonc", 1, text);
  const parsed = service.parseJSONDocument(document);
  const position = document.positionAt(offset);
  const [completion, hover, errors] = [
    await service.doComplete(document, position, parsed),
    await service.doHover(document, position, parsed),
    await service.doValidation(document, parsed),
  ];
  return {
    proposals: completion.items.map(({ label, documentation, textEdit }) => ({
      label,
      about: documentation?.value ?? documentation ?? "",
      text: textEdit?.newText ?? "",
    })),
    hover: hover ? hover.contents.map((one) => one.value ?? one).join("\n") : "",
    errors: errors.map(({ message }) => message),
  };
}

Promise.all(JSON.parse(readFileSync(0, "utf8")).map(answer)).then((answers) =>
  process.stdout.write(JSON.stringify(answers)),
);
