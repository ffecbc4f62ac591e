//! Patterns match as a naive machine says that walks all readings of a pattern at once.

use std::collections::BTreeSet;

use proptest::prelude::*;
use untether_wire::{Rules, glob_matches};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Anything,
    WithinName,
    One,
    Literal(char),
}

fn tokens(pattern: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut characters = pattern.chars().peekable();
    while let Some(character) = characters.next() {
        tokens.push(match character {
            '*' if characters.next_if_eq(&'*').is_some() => Token::Anything,
            '*' => Token::WithinName,
            '?' => Token::One,
            literal => Token::Literal(literal),
        });
    }
    tokens
}

/// Adds the positions that are reached by letting stars stand for nothing.
fn settle(tokens: &[Token], mut positions: BTreeSet<usize>) -> BTreeSet<usize> {
    for (position, token) in tokens.iter().enumerate() {
        if positions.contains(&position) && matches!(token, Token::Anything | Token::WithinName) {
            positions.insert(position + 1);
        }
    }
    positions
}

fn model_matches(pattern: &str, name: &str) -> bool {
    let tokens = tokens(pattern);
    let mut positions = settle(&tokens, BTreeSet::from([0]));
    for character in name.chars() {
        let next = positions.iter().filter_map(|&position| match tokens.get(position)? {
            Token::Anything => Some(position),
            Token::WithinName => (character != '.').then_some(position),
            Token::One => Some(position + 1),
            Token::Literal(literal) => (*literal == character).then_some(position + 1),
        });
        positions = settle(&tokens, next.collect());
    }
    positions.contains(&tokens.len())
}

fn model_rules(patterns: &[String], name: &str) -> bool {
    let mut is_meant = false;
    for pattern in patterns {
        match pattern.strip_prefix('!') {
            Some(exception) if model_matches(exception, name) => is_meant = false,
            None if model_matches(pattern, name) => is_meant = true,
            _ => {}
        }
    }
    is_meant
}

/// Few letters, so that matches are common.
const NAME: &str = r"[ab.$]{0,8}";
const PATTERN: &str = r"([ab.$?]|\*{1,3}){0,7}";

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(20_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_pattern_matches_as_the_model_says(pattern in PATTERN, name in NAME) {
        prop_assert_eq!(glob_matches(&pattern, &name), model_matches(&pattern, &name));
    }

    #[test]
    fn rules_decide_as_the_model_says(
        patterns in prop::collection::vec((any::<bool>(), PATTERN), 0..5),
        name in NAME,
    ) {
        let patterns: Vec<String> =
            patterns.into_iter().map(|(takes_back, pattern)| if takes_back { format!("!{pattern}") } else { pattern }).collect();
        prop_assert_eq!(Rules::new(patterns.clone()).matches(&name), model_rules(&patterns, &name));
    }

    #[test]
    fn a_name_without_stars_matches_only_itself(name in r"[a-z.$é]{0,12}", other in r"[a-z.$é]{0,12}") {
        prop_assert!(glob_matches(&name, &name));
        prop_assert_eq!(glob_matches(&name, &other), name == other);
    }
}

#[test]
fn stars_stand_for_characters_of_more_than_one_byte() {
    assert!(glob_matches("pkg.*.größe", "pkg.Maß.größe"));
    assert!(glob_matches("**ß**", "pkg.Maß.größe"));
}
