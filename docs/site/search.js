// A page that was opened as a file cannot read others, of which the search would show some text: it shows titles then.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

// What users read comes before what is about Treadle itself.
var Scorer = {
  score: ([document, title, anchor, about, score]) =>
    score + (/^(docs|api)\//.test(document) ? 4 : /^(CHANGES|bench|files)/.test(document) ? -2 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
